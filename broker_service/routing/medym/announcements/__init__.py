"""Announcements of changes: the tree along which they travel (`announcement_tree`), and their passing on, with the
announced states of all servers by their versions (`relay`; section 4.2.1)."""
