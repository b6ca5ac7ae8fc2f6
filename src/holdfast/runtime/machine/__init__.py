"""What a machine is doing: probes, gauges, and who is told."""
