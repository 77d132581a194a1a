"""What a partitioned program costs: bytes, work, time, memory."""
