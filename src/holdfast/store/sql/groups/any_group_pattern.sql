-- Whether anybody waits for what groups do: their events begin with `group.`.
SELECT 1 FROM event_patterns
WHERE pattern IN ('*', 'g*', 'gr*', 'gro*', 'grou*', 'group*') OR (pattern >= 'group.' AND pattern < 'group/')
LIMIT 1
