UPDATE watches SET changes = changes + :changes, jobs = jobs + :jobs, untold = :untold, changed_at = :now WHERE id = :id
