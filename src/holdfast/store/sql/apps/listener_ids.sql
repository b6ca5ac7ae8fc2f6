SELECT id, name FROM listeners
WHERE app_key = :app_key AND instance_index = :instance_index AND name @in(:names)
