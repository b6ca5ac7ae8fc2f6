SELECT * FROM webhooks ORDER BY name LIMIT :limit
