"""From results to a publication: files beside the pages, addresses, citation, crate, release."""
