SELECT cpu, gpu, io, timeout_ms, set_by, set_at FROM node_tokens WHERE node = :node
