"""Published algorithms, one file for each printed box, composed of client, mixing and server rules."""
