-- By the controller: what was seen, and the phase that it means.
UPDATE workspaces SET conditions = :conditions, observed_at = :now, phase = :phase,
  phase_changed_at = CASE WHEN phase = :phase THEN phase_changed_at ELSE :now END,
  updated_at = :now, generation = generation + 1
WHERE id = :id
