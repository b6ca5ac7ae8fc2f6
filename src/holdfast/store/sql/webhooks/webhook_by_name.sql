SELECT * FROM webhooks WHERE name = :name
