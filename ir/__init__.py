"""What every dialect and pass needs of IR, whatever the dialect."""
