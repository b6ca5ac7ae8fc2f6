-- What a machine has from now on. Runs that began before, even by a clock that was ahead, are not measured against it.
INSERT INTO node_tokens (node, cpu, gpu, io, timeout_ms, set_by, set_at)
VALUES (:node, :cpu, :gpu, :io, :timeout_ms, :set_by, :now)
@upsert(node: cpu, gpu, io, timeout_ms, set_by, set_at)
