#include "runtime/artifact/rules/unpack_policy.hpp"

#include <algorithm>

#include "runtime/base/text.hpp"

namespace nomad::artifact {
namespace {

constexpr std::uint32_t set_ids = 06000;
constexpr std::uint32_t permissions = 0777;

Error refused(std::string_view path, std::string_view why) {
  constexpr std::size_t longest = 200;
  const auto shown = path.substr(0, std::min(longest, path.find('\0')));
  return {Errc::rejected,
          "the archive's member \"" + std::string{shown} + "\" " + std::string{why}};
}

}  // namespace

Result<std::vector<std::string>> parts_within(std::string_view path) {
  if (path.starts_with('/')) return refused(path, "has an absolute path");
  if (path.find('\0') != path.npos) return refused(path, "has a name with a zero byte");
  std::vector<std::string> parts;
  for (const auto part : split(path, '/')) {
    if (part == "..") return refused(path, "lies outside: its path has \"..\"");
    if (!part.empty() && part != ".") parts.emplace_back(part);
  }
  return parts;
}

bool stays_within(std::string_view target, std::size_t depth) {
  if (target.empty() || target.starts_with('/') || target.find('\0') != target.npos) return false;
  bool descends = false;
  for (const auto part : split(target, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      descends = true;
    } else {
      // What stands before may be a link: where ".." leads from there nobody knows.
      if (descends || depth == 0) return false;
      --depth;
    }
  }
  return true;
}

Result<Admitted> UnpackPolicy::admit(const Member& member) {
  if (++members_ > limits_.files && limits_.files > 0)
    return Error{Errc::too_large, "the archive contains too many files: more than "
                                      + std::to_string(limits_.files)
                                      + " (decompression_file_count_limit)"};
  Admitted admitted{.path = NOMAD_TRY(parts_within(member.path)),
                    .target = {},
                    .mode = member.mode & permissions};
  using enum Member::Kind;
  if (admitted.path.empty() && member.kind != directory) return refused(member.path, "has no name");
  switch (member.kind) {
    case directory:
      break;
    case file:
      if ((member.mode & set_ids) != 0) return refused(member.path, "is setuid or setgid");
      break;
    case symbolic_link:
      if (!stays_within(member.target, admitted.path.size() - 1))
        return refused(member.path,
                       "is a link that leads outside, to \"" + std::string{member.target} + "\"");
      break;
    case hard_link: {
      auto target = parts_within(member.target);
      if (!target || target->empty())
        return refused(member.path, "is a hard link that leads outside, to \""
                                        + std::string{member.target} + "\"");
      admitted.target = std::move(*target);
      break;
    }
    case other:
      return refused(member.path, "is a device, a FIFO or a socket");
  }
  return admitted;
}

Result<> UnpackPolicy::add(std::uint64_t bytes) {
  bytes_ += bytes;
  if (limits_.bytes > 0 && bytes_ > limits_.bytes)
    return Error{Errc::too_large, "the archive is larger than the limit: more than "
                                      + std::to_string(limits_.bytes)
                                      + " bytes unpacked (decompression_size_limit)"};
  if (bytes_ > limits_.ratio_from && bytes_ / limits_.ratio > packed_)
    return Error{Errc::too_large, "the archive unpacks to more than "
                                      + std::to_string(limits_.ratio)
                                      + " times its size: it may be a bomb"};
  return {};
}

}  // namespace nomad::artifact
