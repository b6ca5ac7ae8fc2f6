-- An app `a`, with its owner `s` and the name of the machine `n` of that.
a.app_key, a.instance_index, a.class, a.wanted, a.status, a.session_id, s.pid,
coalesce(n.name, s.node) AS node, a.started_at, a.error_type, a.error_message, a.error_traceback
