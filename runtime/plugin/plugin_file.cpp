#include "runtime/plugin/plugin_file.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elf.h>
#include <fmt/format.h>

#include "runtime/base/files/bounded.hpp"
#include "runtime/host/process/unique_fd.hpp"
#include "runtime/plugin/plugin_copy.hpp"
#include "runtime/plugin/sdk/mark.hpp"
#include "runtime/scheduler/placement/version.hpp"

namespace nomad::plugin {
namespace {

constexpr std::size_t most_name_bytes = 64;
constexpr off_t most_file_bytes = off_t{1} << 32;
constexpr std::size_t most_searched_bytes = std::size_t{512} << 20;
constexpr std::string_view nomad_cookie = "NOMAD_PLUGIN_MAGIC_COOKIE";

#if defined(__x86_64__)
constexpr Elf64_Half own_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half own_machine = EM_AARCH64;
#else
constexpr Elf64_Half own_machine = EM_NONE;
#endif

std::string machine_name(Elf64_Half machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "aarch64";
    case EM_386:
      return "i386";
    case EM_ARM:
      return "arm";
    case EM_RISCV:
      return "riscv";
    case EM_PPC64:
      return "ppc64";
    case EM_S390:
      return "s390";
    default:
      return fmt::format("machine {}", machine);
  }
}

Error refused(std::string why) {
  return {Errc::rejected, std::move(why)};
}

/// `count` objects of the file at `offset`; nothing if it ends before.
template <class T>
std::optional<T> read_at(std::string_view file, std::uint64_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return std::nullopt;
  T object;
  std::memcpy(&object, file.data() + offset, sizeof object);
  return object;
}

std::optional<std::string_view> part_of(std::string_view file, const Elf64_Shdr& section) {
  if (section.sh_type == SHT_NOBITS || section.sh_offset > file.size()
      || file.size() - section.sh_offset < section.sh_size)
    return std::nullopt;
  return file.substr(section.sh_offset, section.sh_size);
}

/// What the section of this name holds.
std::optional<std::string_view> find_section(std::string_view file,
                                             const Elf64_Ehdr& head,
                                             std::string_view wanted) {
  const auto section = [&](unsigned position) {
    return read_at<Elf64_Shdr>(file, head.e_shoff + std::uint64_t{position} * head.e_shentsize);
  };
  const auto names_at = section(head.e_shstrndx);
  if (!names_at) return std::nullopt;
  const auto names = part_of(file, *names_at);
  if (!names) return std::nullopt;
  for (unsigned position = 0; position < head.e_shnum; ++position) {
    const auto at = section(position);
    if (!at) return std::nullopt;
    if (at->sh_name >= names->size()) continue;
    const auto name = names->substr(at->sh_name);
    if (name.substr(0, name.find('\0')) == wanted) return part_of(file, *at);
  }
  return std::nullopt;
}

template <std::size_t size>
std::string_view text_in(const char (&field)[size]) {
  const std::string_view whole{field, size};
  return whole.substr(0, whole.find('\0'));
}

/// Who beside root and the agent's user could put something else into its directory; empty: nobody.
std::string others_with(const std::string& path, bool is_directory) {
  struct stat is {};

  if (::stat(path.c_str(), &is) != 0) return {};
  const bool is_common = is_directory && (is.st_mode & S_ISVTX) != 0;  // as /tmp
  if ((is.st_mode & S_IWOTH) != 0 && !is_common)
    return fmt::format("everybody may write to \"{}\"", path);
  if ((is.st_mode & S_IWGRP) != 0 && !is_common)
    return fmt::format("group {} may write to \"{}\"", is.st_gid, path);
  if (is.st_uid != 0 && is.st_uid != ::geteuid() && !is_common)
    return fmt::format(
        "\"{}\" belongs to user {}, who could change what the agent runs: it must be root's, or "
        "the agent's user's",
        path, is.st_uid);
  return {};
}

/// The same of a file, and of where it is if a link has led there.
std::string others_with_file(const std::filesystem::directory_entry& entry) {
  if (auto whose = others_with(entry.path(), false); !whose.empty()) return whose;
  std::error_code failure;
  if (!entry.is_symlink(failure)) return {};
  const auto target = std::filesystem::canonical(entry.path(), failure);
  return failure ? failure.message() : others_with(target.parent_path(), true);
}

bool is_digit(char sign) {
  return sign >= '0' && sign <= '9';
}

/// "stamp.so", and "stamp.so.2".
bool is_library_name(std::string_view file) {
  const auto at = file.rfind(".so");
  if (at == std::string_view::npos) return false;
  return std::ranges::all_of(file.substr(at + 3),
                             [](char sign) { return is_digit(sign) || sign == '.'; });
}

/// "stamp" of "stamp-1" and "stamp_v1", behind which more of the number comes.
std::string_view without_number(std::string_view name) {
  auto rest = name;
  while (!rest.empty() && is_digit(rest.back()))
    rest.remove_suffix(1);
  if (rest.size() == name.size()) return name;
  if (rest.ends_with('v')) rest.remove_suffix(1);
  return rest.size() > 1 && (rest.back() == '-' || rest.back() == '_')
             ? rest.substr(0, rest.size() - 1)
             : name;
}

/// What a file's name says of its version, behind the plugin's name; nothing: nothing.
std::optional<scheduler::Version> version_of(const PluginFile& plugin) {
  const auto file = std::filesystem::path{plugin.path}.filename().string();
  std::string_view rest = file;
  if (plugin.is_library) {
    if (!rest.starts_with(plugin.name) && rest.starts_with("lib")) rest.remove_prefix(3);
    const auto ending = rest.rfind(".so");
    const auto behind = rest.substr(ending + 3);
    rest = rest.substr(0, ending);
    if (rest.size() <= plugin.name.size()) rest = behind;
  }
  if (rest.starts_with(plugin.name)) rest.remove_prefix(plugin.name.size());
  if (!rest.empty()) rest.remove_prefix(1);  // "-", "_" or "."
  // "1.2" of "1.2.py"
  for (auto dot = rest.rfind('.');
       dot != std::string_view::npos && dot + 1 < rest.size() && !is_digit(rest[dot + 1]);
       dot = rest.rfind('.'))
    rest = rest.substr(0, dot);
  return scheduler::parse_version(rest);
}

/// The one that holds, of files with one name, of which there is one at least.
PluginFile chosen(const std::vector<PluginFile>& files) {
  struct Ranked {
    const PluginFile* file;
    std::optional<scheduler::Version> version;
    FileStamp stamp;
  };

  const auto came_before = [](const Ranked& one, const Ranked& other) {
    return std::tie(one.stamp.changed, one.file->path)
           < std::tie(other.stamp.changed, other.file->path);
  };
  const auto is_older = [&](const Ranked& one, const Ranked& other) {
    const auto order = scheduler::compare(*one.version, *other.version);
    return order != 0 ? order < 0 : came_before(one, other);
  };
  const bool is_usable
      = std::ranges::any_of(files, [](const auto& file) { return file.refusal.empty(); });
  std::optional<Ranked> numbered, other;
  for (const auto& file : files) {
    if (is_usable && !file.refusal.empty()) continue;
    const Ranked each{&file, version_of(file), stamp_of(file.path)};
    auto& best = each.version ? numbered : other;
    if (!best || (each.version ? is_older(*best, each) : came_before(*best, each))) best = each;
  }
  const bool is_numbered = numbered && (!other || came_before(*other, *numbered));
  auto holds = *(is_numbered ? numbered : other)->file;
  for (const auto& file : files)
    if (file.path != holds.path) holds.older = file.path;
  return holds;
}

/// What editors, packages and people leave beside a file.
bool is_put_aside(std::string_view file) {
  if (file.starts_with('.') || file.ends_with('~')) return true;
  constexpr std::string_view endings[] = {
      ".bak",     ".old",    ".orig",    ".save",     ".swp",      ".tmp",      ".part",     ".new",
      ".rpmsave", ".rpmnew", ".rpmorig", ".dpkg-old", ".dpkg-new", ".dpkg-tmp", ".dpkg-dist"};
  return std::ranges::any_of(endings, [file](auto ending) { return file.ends_with(ending); });
}

struct Mapping {
  void* at = MAP_FAILED;
  std::size_t size = 0;

  Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  ~Mapping() {
    if (at != MAP_FAILED) ::munmap(at, size);
  }
};

}  // namespace

bool is_plugin_name(std::string_view name) {
  const auto fits = [](char sign) {
    return (sign >= 'a' && sign <= 'z') || (sign >= '0' && sign <= '9') || sign == '_'
           || sign == '-';
  };
  return !name.empty() && name.size() <= most_name_bytes && name.front() >= 'a'
         && name.front() <= 'z' && std::ranges::all_of(name, fits);
}

std::string plugin_name(std::string_view file) {
  auto name = file.substr(0, file.find('.'));
  if (is_library_name(file) && name.starts_with("lib")) name.remove_prefix(3);
  if (const auto dot = file.find('.');
      dot != std::string_view::npos && dot + 1 < file.size() && is_digit(file[dot + 1]))
    name = without_number(name);
  return is_plugin_name(name) ? std::string{name} : std::string{};
}

bool is_nomad_plugin(const PluginFile& plugin) {
  if (plugin.is_library) return false;
  if (plugin.name.starts_with("nomad-driver-") || plugin.name.starts_with("nomad-device-"))
    return true;
  const host::UniqueFd file{::open(plugin.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!file) return false;
  std::vector<char> part(1 << 20);
  std::size_t kept = 0;  // What may be the beginning of the word.
  for (std::size_t searched = 0; searched < most_searched_bytes;) {
    const auto got = ::read(file.get(), part.data() + kept, part.size() - kept);
    if (got <= 0) return false;
    const std::string_view text{part.data(), kept + static_cast<std::size_t>(got)};
    if (::memmem(text.data(), text.size(), nomad_cookie.data(), nomad_cookie.size()) != nullptr)
      return true;
    searched += static_cast<std::size_t>(got);
    kept = std::min(text.size(), nomad_cookie.size() - 1);
    std::memmove(part.data(), text.data() + text.size() - kept, kept);
  }
  return false;
}

Result<std::vector<PluginFile>> find_plugins(const std::string& directory) {
  namespace fs = std::filesystem;
  std::map<std::string, std::vector<PluginFile>> found;

  struct stat status {};

  if (::stat(directory.c_str(), &status) == 0 && (status.st_mode & (S_IWOTH | S_IWGRP)) != 0)
    return Error{Errc::rejected, fmt::format("plugin_dir \"{}\": {} may write to it", directory,
                                             (status.st_mode & S_IWOTH) != 0
                                                 ? "everybody"
                                                 : fmt::format("group {}", status.st_gid))};
  if (const auto whose = others_with(directory, true); !whose.empty())
    return Error{Errc::rejected, "plugin_dir: " + whose};
  const auto files = names_in(directory);
  if (!files) return files.error().within(fmt::format("plugin_dir \"{}\"", directory));
  for (const auto& file : *files) {
    std::error_code unknown;
    const fs::directory_entry entry{fs::path{directory} / file, unknown};
    if (!entry.is_regular_file(unknown) || is_put_aside(file)) continue;
    const bool is_library = is_library_name(file);
    if (!is_library && ::access(entry.path().c_str(), X_OK) != 0) continue;
    PluginFile plugin{plugin_name(file), entry.path(), is_library};
    if (plugin.name.empty()) {
      plugin.name = file;
      plugin.refusal
          = fmt::format("\"{}\" gives no name of a plugin: [a-z][a-z0-9_-]*, at most {} signs",
                        file, most_name_bytes);
    }
    if (plugin.refusal.empty()) plugin.refusal = others_with_file(entry);
    found[plugin.name].push_back(std::move(plugin));
  }
  std::vector<PluginFile> all;
  for (const auto& [name, files_of_name] : found)
    all.push_back(chosen(files_of_name));
  return all;
}

Result<> check_mark(std::string_view elf, std::string_view abi, std::string_view compiler) {
  const auto head = read_at<Elf64_Ehdr>(elf, 0);
  if (!head || std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0)
    return refused("it is no library: the file does not begin as an ELF file does");
  if (head->e_ident[EI_CLASS] != ELFCLASS64)
    return refused("it was built for 32 bits, this agent has 64");
  if (head->e_machine != own_machine)
    return refused(fmt::format("it was built for {}, this agent for {}",
                               machine_name(head->e_machine), machine_name(own_machine)));
  if (head->e_type != ET_DYN) return refused("it is no shared library");
  const auto section = find_section(elf, *head, mark_section);
  const auto mark = section ? read_at<Mark>(*section, 0) : std::nullopt;
  if (!mark || std::string_view{mark->magic, sizeof mark->magic} != mark_magic)
    return refused("it is no plugin: it has no NOMADCTL_PLUGIN");
  if (mark->size != sizeof(Mark) || mark->sdk_version != sdk_version)
    return refused(fmt::format("it was built with version {} of the SDK, this agent has version {}",
                               mark->sdk_version, sdk_version));
  if (text_in(mark->abi) != abi)
    return refused(
        fmt::format("it was built with another SDK ({}) than this agent's ({}): build it "
                    "again with the headers that are installed here",
                    text_in(mark->abi), abi));
  if (!compiler.empty() && text_in(mark->compiler) != compiler)
    return refused(fmt::format("it was built by {}, this agent by {}: it can only run isolated",
                               text_in(mark->compiler), compiler));
  return {};
}

Result<> check_library(const std::string& path, bool in_process) {
  const host::UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};

  struct stat is {};

  if (!file || ::fstat(file.get(), &is) != 0) return errno_error("opening " + path, errno);
  if (!S_ISREG(is.st_mode) || is.st_size == 0 || is.st_size > most_file_bytes)
    return refused("it is no library: the file is empty, or none");
  Mapping mapping;
  mapping.size = static_cast<std::size_t>(is.st_size);
  mapping.at = ::mmap(nullptr, mapping.size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (mapping.at == MAP_FAILED) return errno_error("reading " + path, errno);
  const auto own = own_mark();
  return check_mark({static_cast<const char*>(mapping.at), mapping.size}, text_in(own.abi),
                    in_process ? text_in(own.compiler) : std::string_view{});
}

}  // namespace nomad::plugin
