"""Announcements of changes: the tree along which they travel (`announcement_tree`), their passing on (`relay`), and the
announced states of all servers with their versions (`server_states`; section 4.2.1)."""
