variable "a" {
  type = string
}
job "j" {

}
