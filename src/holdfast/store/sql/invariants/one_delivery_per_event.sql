-- Each webhook is told of an event once; what is sent again is the same delivery.
SELECT webhook_id, event_id, count(*) AS deliveries FROM webhook_deliveries
GROUP BY webhook_id, event_id HAVING count(*) > 1
