SELECT @part(machine_columns) FROM machines AS m LEFT JOIN nodes AS n ON n.id = m.node WHERE m.node = :node
