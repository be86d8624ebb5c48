variable "image" {
  type = string
}
