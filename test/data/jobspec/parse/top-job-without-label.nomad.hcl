job {}
