-- Its deliveries go with it.
DELETE FROM webhooks WHERE id = :id
