"""The durable tier: transaction scripts, SQL, migrations, and the two engines that run them."""
