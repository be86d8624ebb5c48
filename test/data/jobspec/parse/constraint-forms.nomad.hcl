job "j" {
  constraint {
    attribute = "a"
    value     = 4
  }
  constraint {
    attribute = "a"
    version   = ">= 1.2"
  }
  constraint {
    attribute = "a"
    semver    = "> 1"
  }
  constraint {
    attribute = "a"
    regexp    = "[a-z]+"
  }
  constraint {
    attribute    = "a"
    set_contains = "x,y"
  }
  constraint {
    distinct_hosts = true
  }
  constraint {
    distinct_hosts = false
  }
  constraint {
    distinct_property = "${meta.rack}"
    value             = "2"
  }
  constraint {
    attribute        = "a"
    set_contains_any = "x"
  }
  constraint {
    attribute = "a"
    is_set    = "x"
  }
  constraint {
    attribute = "a"
    operator  = "is_set"
  }
  constraint {
    attribute         = "a"
    version           = "1"
    regexp            = "x"
    distinct_property = "p"
  }
  constraint {}
  affinity {
    attribute        = "a"
    set_contains_any = "x"
    weight           = 300
  }
  affinity {
    attribute        = "a"
    set_contains_all = "y"
    weight           = -50
  }
  affinity {
    attribute = "a"
    regexp    = "y"
  }
  spread {
    attribute = "${node.datacenter}"
    weight    = 100
    target "dc1" {
      percent = 70
    }
    target "dc2" {
      percent = 30
    }
  }
  spread {
    attribute = "x"
  }
}
