#include "actors/client/hooks/templates/unsettled.hpp"

#include <cerrno>
#include <string>

#include <unistd.h>

#include "runtime/base/text.hpp"
#include "runtime/host/beneath.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::client {
namespace {

constexpr const char* notes = ".templates";
constexpr std::size_t longest_note = 64 * 1024;

Result<host::Beneath> root_of(const HookScope& scope) {
  return host::Beneath::open(copy(scope.target->getAllocRoot()), false);
}

}  // namespace

std::set<std::size_t> read_unsettled(const HookScope& scope) {
  const auto root = root_of(scope);
  if (!root) return {};
  const auto text = root->read_at(notes + ('/' + copy(scope.target->getTask())), 0, longest_note);
  if (!text) return {};
  std::set<std::size_t> which;
  for (const auto line : split(*text, '\n'))
    if (is_digits(line)) which.insert(static_cast<std::size_t>(leading_number(line)));
  return which;
}

Result<> note_unsettled(const HookScope& scope, const std::set<std::size_t>& which) {
  const auto root = NOMAD_TRY(root_of(scope));
  const auto task = copy(scope.target->getTask());
  if (which.empty()) {
    const auto directory = root.open_directory(notes);
    if (!directory) return {};
    if (::unlinkat(directory->get(), task.c_str(), 0) != 0 && errno != ENOENT)
      return errno_error("removing a note of templates", errno);
    return {};
  }
  std::string text;
  for (const auto index : which)
    text += std::to_string(index) + '\n';
  NOMAD_TRY(root.make_directories(notes, 0700));
  return root.write_file(notes + ('/' + task), text, 0600, false);
}

}  // namespace nomad::client
