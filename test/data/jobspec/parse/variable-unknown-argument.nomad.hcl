variable "a" {
  default   = 1
  sensitive = true
}
job "j" {

}
