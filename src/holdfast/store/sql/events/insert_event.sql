INSERT INTO events (id, name, attributes, emitted_at, trigger, upto_number, is_spreading, data)
VALUES (:id, :name, :attributes, :now, :trigger, :upto_number, :is_spreading, :data)
