# one
// two
/* three
 * four */ job "j" { # five
  type = "batch" // six
}
