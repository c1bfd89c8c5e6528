"""Published algorithms: one file each (or one box each), composed of client, mixing and server rules."""
