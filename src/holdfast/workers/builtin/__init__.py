"""What Holdfast runs itself: commands, and the deliveries of webhooks."""
