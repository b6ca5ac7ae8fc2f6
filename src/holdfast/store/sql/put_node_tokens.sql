-- What a machine has from now on. Runs that began before, even by a clock that was ahead, are not measured against it.
INSERT INTO node_tokens (node, cpu, gpu, io, timeout_ms, set_by, set_at)
VALUES (:node, :cpu, :gpu, :io, :timeout_ms, :set_by, :now)
ON CONFLICT (node) DO UPDATE
SET cpu = EXCLUDED.cpu, gpu = EXCLUDED.gpu, io = EXCLUDED.io, timeout_ms = EXCLUDED.timeout_ms,
    set_by = EXCLUDED.set_by, set_at = EXCLUDED.set_at
