UPDATE watches SET waits_for = :waits_for WHERE id = :id
