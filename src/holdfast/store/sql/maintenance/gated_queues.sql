-- Every queue with ready jobs that wait for an idle or a charging machine: one step of their index for each queue.
WITH RECURSIVE @part(gated_queues)
SELECT queue FROM ready WHERE queue IS NOT NULL
