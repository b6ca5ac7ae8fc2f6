SELECT payload, env_vars FROM jobs WHERE number = :number
