UPDATE listeners SET retired_at = :now
WHERE app_key = :app_key AND instance_index = :instance_index AND retired_at IS NULL AND NOT (name @in(:names))
