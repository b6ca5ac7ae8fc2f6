UPDATE listeners SET events_dropped = events_dropped + :count
WHERE app_key = :app_key AND instance_index = :instance_index AND name = :name
