#include "runtime/docker/image_name.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/base/text.hpp"

namespace nomad::docker {

std::string ImageName::text() const {
  if (!digest.empty()) return repository + '@' + digest;
  return tag.empty() ? repository : repository + ':' + tag;
}

Result<ImageName> parse_image_name(std::string_view image) {
  constexpr std::size_t longest = 1024;
  const auto is_odd = [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; };
  if (image.empty() || image.size() > longest || std::ranges::any_of(image, is_odd))
    return Error{Errc::invalid_argument, "invalid image name " + quote(image.substr(0, 200))};
  ImageName name;
  const auto at = image.find('@');
  if (at != image.npos) name.digest = image.substr(at + 1);
  const auto before = image.substr(0, at);
  const auto colon = before.rfind(':');
  const bool has_tag = colon != before.npos && before.find('/', colon) == before.npos;
  name.repository = has_tag ? before.substr(0, colon) : before;
  if (has_tag) name.tag = before.substr(colon + 1);
  if (name.tag.empty() && name.digest.empty()) name.tag = "latest";
  if (name.repository.empty() || (at != image.npos && name.digest.empty()))
    return Error{Errc::invalid_argument, "invalid image name " + quote(image)};
  return name;
}

std::string registry_of(const ImageName& image) {
  const auto slash = image.repository.find('/');
  if (slash == std::string::npos) return "docker.io";
  auto host = image.repository.substr(0, slash);
  if (host.find_first_of(".:") == std::string::npos && host != "localhost") return "docker.io";
  return host == "index.docker.io" ? "docker.io" : host;
}

}  // namespace nomad::docker
