job "j" {
  group "g" { task "t" {} }
}
