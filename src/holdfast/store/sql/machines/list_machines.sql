SELECT @part(machine_columns) FROM machines AS m LEFT JOIN nodes AS n ON n.id = m.node ORDER BY 1
