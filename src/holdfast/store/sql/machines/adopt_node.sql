-- A machine of which only the name was known has told its id.
UPDATE nodes SET id = :id WHERE id = :name
