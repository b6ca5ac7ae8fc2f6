SELECT id, attempts, transient_tries, infra_tries, deaths FROM jobs
WHERE transient_tries + infra_tries > attempts OR deaths > infra_tries
