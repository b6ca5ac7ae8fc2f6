-- What an app listens to belongs to an app that is there.
SELECT p.pattern, p.owner FROM event_patterns AS p
WHERE substr(p.owner, 1, 4) = 'app:'
  AND NOT EXISTS (SELECT 1 FROM apps AS a WHERE p.owner = 'app:' || a.app_key)
