#include "runtime/plugin/plugin_file.hpp"

#include <cstring>
#include <fstream>
#include <sstream>

#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>
#include <elf.h>

#include "runtime/plugin/plugin_copy.hpp"
#include "runtime/plugin/sdk/mark.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;

namespace {

void write(const std::string& path, const std::string& text, mode_t mode = 0644) {
  std::ofstream{path, std::ios::binary} << text;
  ::chmod(path.c_str(), mode);
}

/// The least library there can be: a head, the section with the mark, and the names of sections.
std::string library(const plugin::Mark& mark) {
  const std::string names = std::string{"\0.shstrtab\0", 11} + std::string{plugin::mark_section};
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
#if defined(__aarch64__)
  head.e_machine = EM_AARCH64;
#else
  head.e_machine = EM_X86_64;
#endif
  head.e_type = ET_DYN;
  head.e_shentsize = sizeof(Elf64_Shdr);
  head.e_shnum = 3;
  head.e_shstrndx = 1;
  Elf64_Shdr sections[3]{};
  sections[1].sh_name = 1;
  sections[1].sh_type = SHT_STRTAB;
  sections[1].sh_offset = sizeof head;
  sections[1].sh_size = names.size() + 1;
  sections[2].sh_name = 11;
  sections[2].sh_type = SHT_PROGBITS;
  sections[2].sh_offset = sections[1].sh_offset + sections[1].sh_size;
  sections[2].sh_size = sizeof mark;
  head.e_shoff = sections[2].sh_offset + sections[2].sh_size;
  std::string file(reinterpret_cast<const char*>(&head), sizeof head);
  file.append(names.c_str(), names.size() + 1);
  file.append(reinterpret_cast<const char*>(&mark), sizeof mark);
  return file.append(reinterpret_cast<const char*>(sections), sizeof sections);
}

std::string refusal(std::string_view file) {
  const auto own = plugin::own_mark();
  const auto outcome = plugin::check_mark(file, own.abi, own.compiler);
  return outcome ? "" : outcome.error().what;
}

}  // namespace

TEST_CASE("plugin files: libraries and programs have the names of their files") {
  CHECK(plugin::plugin_name("stamp.so") == "stamp");
  CHECK(plugin::plugin_name("libstamp.so") == "stamp");
  CHECK(plugin::plugin_name("stamp.py") == "stamp");
  CHECK(plugin::plugin_name("stamp") == "stamp");
  CHECK(plugin::plugin_name("libfoo") == "libfoo");
  CHECK(plugin::plugin_name("stamp.2.so") == "stamp");
  CHECK(plugin::plugin_name("stamp-1.2.3.so") == "stamp");
  CHECK(plugin::plugin_name("stamp_v1.2.so") == "stamp");
  CHECK(plugin::plugin_name("libstamp.so.2") == "stamp");
  CHECK(plugin::plugin_name("stamp-2.so") == "stamp-2");
  CHECK(plugin::plugin_name("s3-4.py") == "s3-4");
  CHECK(plugin::plugin_name(".hidden").empty());
  CHECK(plugin::plugin_name("../x.so").empty());
  CHECK(plugin::plugin_name("Stamp.so").empty());
}

TEST_CASE("plugin files: what can't be a plugin is passed over, or says why") {
  const test::TempDir dir;
  write(dir.path() + "/README.md", "about");
  write(dir.path() + "/one.so", "");
  write(dir.path() + "/two", "#!/bin/sh\n", 0755);
  write(dir.path() + "/Three.so", "");
  write(dir.path() + "/four.so", "");
  write(dir.path() + "/libfour.so", "");
  write(dir.path() + "/five.so.bak", "", 0755);
  write(dir.path() + "/.six.so.X1", "", 0755);
  write(dir.path() + "/open.so", "", 0666);

  const auto found = plugin::find_plugins(dir.path());

  REQUIRE(found);
  std::ostringstream all;
  for (const auto& each : *found)
    all << each.name << (each.is_library ? " library" : " program")
        << (each.refusal.empty() ? ";" : " refused;");
  CHECK(all.str()
        == "Three.so library refused;four library;one library;open library refused;two program;");
}

TEST_CASE("plugin files: of two with one name the last that came and may be used holds") {
  const test::TempDir dir;
  const auto at = [&dir](const char* name) { return dir.path() + '/' + name; };
  const auto held = [&] {
    const auto found = plugin::find_plugins(dir.path());
    REQUIRE((found && found->size() == 1));
    return found->front().path.substr(dir.path().size() + 1);
  };
  // The kernel's clock of files has steps.
  const auto change_after = [&at](const char* name, const char* other) {
    do
      REQUIRE(::chmod(at(name).c_str(), 0644) == 0);
    while (plugin::stamp_of(at(name)).changed <= plugin::stamp_of(at(other)).changed);
  };
  write(at("one.2.so"), "");
  write(at("one.so"), "");
  change_after("one.so", "one.2.so");
  CHECK(held() == "one.so");
  REQUIRE(::rename(at("one.2.so").c_str(), at("one.3.so").c_str()) == 0);
  change_after("one.3.so", "one.so");
  CHECK(held() == "one.3.so");
  REQUIRE(::chmod(at("one.3.so").c_str(), 0666) == 0);
  CHECK(held() == "one.so");
}

TEST_CASE("plugin files: of versions in names the greatest holds, whatever their times") {
  const test::TempDir dir;
  const auto held_of = [&dir](std::vector<std::string> files) {
    for (const auto& file : files)
      write(dir.path() + '/' + file, "", 0755);
    // The first one is changed after all others.
    const auto path = dir.path() + '/' + files.front();
    do
      REQUIRE(::chmod(path.c_str(), 0755) == 0);
    while (plugin::stamp_of(path).changed
           <= plugin::stamp_of(dir.path() + '/' + files.back()).changed);
    const auto found = plugin::find_plugins(dir.path());
    REQUIRE((found && found->size() == 1));
    for (const auto& file : files)
      ::unlink((dir.path() + '/' + file).c_str());
    return found->front().path.substr(dir.path().size() + 1);
  };
  CHECK(held_of({"one-1.9.so", "one-1.10.so"}) == "one-1.10.so");
  CHECK(held_of({"one.so.9", "libone.10.so"}) == "libone.10.so");
  CHECK(held_of({"one_v2.0.so", "one-2.0.1.so"}) == "one-2.0.1.so");
  CHECK(held_of({"one-1.2.0-rc1.so", "one-1.2.0.so"}) == "one-1.2.0.so");
  CHECK(held_of({"one-1.9.py", "one-1.10.py"}) == "one-1.10.py");
  CHECK(held_of({"one-1.2.so", "one_v1.2.so"}) == "one-1.2.so");  // the same: which came last
  CHECK(held_of({"one.so", "one-1.10.so", "one-1.9.so"}) == "one.so");
  CHECK(held_of({"one-1.9.so", "one-1.10.so", "one.so"}) != "one-1.9.so");
}

TEST_CASE("plugin files: others may not change what the agent runs, wherever a link leads") {
  const test::TempDir dir, open;
  write(open.path() + "/target.so", "");
  ::chmod(open.path().c_str(), 0777);
  const auto link = [&dir](const std::string& target, const char* name) {
    REQUIRE(::symlink(target.c_str(), (dir.path() + name).c_str()) == 0);
  };
  link(open.path() + "/target.so", "/linked.so");
  link("/nowhere", "/dangling.so");
  const auto refusal_of = [&dir] {
    const auto found = plugin::find_plugins(dir.path());
    return !found ? found.error().what : found->size() == 1 ? found->front().refusal : "none";
  };
  CHECK(refusal_of().find("everybody may write to \"" + open.path()) != std::string::npos);
  ::chmod(open.path().c_str(), 0775);
  CHECK(refusal_of().find("may write to \"" + open.path()) != std::string::npos);
  ::chmod(open.path().c_str(), 0755);
  CHECK(refusal_of().empty());
  ::chmod((open.path() + "/target.so").c_str(), 0664);
  CHECK(refusal_of().find("may write to \"") != std::string::npos);
  ::chmod((open.path() + "/target.so").c_str(), 0644);
  for (const mode_t mode : {0777, 0775, 01777, 01775}) {
    ::chmod(dir.path().c_str(), mode);
    CHECK(refusal_of().find("may write to it") != std::string::npos);
  }
  ::chmod(dir.path().c_str(), 0755);
  CHECK(refusal_of().empty());

  if (::geteuid() != 0) return;
  const auto give
      = [](const std::string& path, uid_t user) { REQUIRE(::chown(path.c_str(), user, 0) == 0); };
  give(open.path() + "/target.so", 65534);
  CHECK(refusal_of().find("belongs to user 65534") != std::string::npos);
  give(open.path() + "/target.so", 0);
  give(open.path(), 65534);
  CHECK(refusal_of().find("belongs to user 65534") != std::string::npos);
  give(open.path(), 0);
  give(dir.path(), 65534);
  CHECK(refusal_of().find("plugin_dir: ") == 0);
}

TEST_CASE("plugin files: a directory that is not there is an error that names it") {
  CHECK(plugin::find_plugins("/no/such").error().what.find("\"/no/such\"") != std::string::npos);
}

TEST_CASE("plugin files: a mark of this agent's is taken, any other says what is wrong") {
  CHECK(refusal(library(plugin::own_mark())).empty());
  CHECK(refusal("#!/bin/sh").find("no library") != std::string::npos);
  auto other = plugin::own_mark();
  other.sdk_version = 9;
  CHECK(refusal(library(other))
        == "it was built with version 9 of the SDK, this agent has version "
               + std::to_string(plugin::own_mark().sdk_version));
  other = plugin::own_mark();
  other.abi[0] = 'x';
  CHECK(refusal(library(other))
        == "it was built with another SDK (" + std::string{other.abi} + ") than this agent's ("
               + std::string{plugin::own_mark().abi}
               + "): build it again with the headers that are installed here");
  other = plugin::own_mark();
  other.compiler[0] = 'x';
  CHECK(refusal(library(other))
        == "it was built by " + std::string{other.compiler} + ", this agent by "
               + std::string{plugin::own_mark().compiler} + ": it can only run isolated");
  other.magic[0] = 'x';
  CHECK(refusal(library(other)).find("no plugin") != std::string::npos);
}

TEST_CASE("plugin files: another machine's library is refused by the machine's name") {
  auto file = library(plugin::own_mark());
  file[18] = EM_S390;
  file[19] = 0;
  CHECK(refusal(file).find("built for s390") != std::string::npos);
}

TEST_CASE("plugin files: no damaged file is read beyond its end") {
  const auto good = library(plugin::own_mark());
  for (std::size_t size = 0; size < good.size(); ++size)
    CHECK_FALSE(refusal(std::string_view{good}.substr(0, size)).empty());
  for (std::size_t at = 0; at < sizeof(Elf64_Ehdr); ++at) {
    auto bad = good;
    bad[at] = '\xff';
    static_cast<void>(refusal(bad));
  }
}

TEST_CASE(
    "plugin files: Nomad's own plugins are known by their names, or by the variable they read") {
  const test::TempDir dir;
  const auto path = [&dir](std::string_view name) { return dir.path() + "/" + std::string{name}; };
  const auto is = [&](std::string_view name, bool is_library = false) {
    return plugin::is_nomad_plugin({std::string{name}, path(name), is_library});
  };
  write(path("script"), "#!/bin/sh\n");
  write(path("nomad-driver-x"), "#!/bin/sh\n");
  const std::string word = "NOMAD_PLUGIN_MAGIC_COOKIE";
  write(path("early"), word + std::string(100, 'x'));
  // Where one reading of the file ends, the word may be begun.
  write(path("split"), std::string((1 << 20) - 7, 'x') + word);
  write(path("late"), std::string((3 << 20) - 1, 'x') + word);
  write(path("nearly"), std::string((1 << 20) - 7, 'x') + word.substr(0, 20));

  CHECK(is("nomad-driver-x"));
  CHECK(is("nomad-device-absent"));
  CHECK(is("early"));
  CHECK(is("split"));
  CHECK(is("late"));
  CHECK_FALSE(is("script"));
  CHECK_FALSE(is("nearly"));
  CHECK_FALSE(is("absent"));
  CHECK_FALSE(is("nomad-driver-x", true));
}
