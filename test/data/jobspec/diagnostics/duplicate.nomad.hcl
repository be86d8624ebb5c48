job "web" {
  group "g" {
    update {
      max_parallel = 1
    }

    update {
      max_parallel = 2
    }
  }
}

job "more" {}
