"""Each public function against its definition, on families of instances made to break it."""
