"""Evidence: what names the loss of one publication to one client as a cost that the routing's promises allow."""
