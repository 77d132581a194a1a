"""What passes on host programs have to know about globals."""
