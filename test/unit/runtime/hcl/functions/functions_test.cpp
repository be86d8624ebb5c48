#include "runtime/hcl/functions/functions.hpp"

#include <map>

#include <doctest/doctest.h>

#include "test/unit/runtime/hcl/cases.hpp"

namespace nomad::hcl {

namespace {

/// Files in memory.
struct Files final : FileAccess {
  std::map<std::string, std::string, std::less<>> content;

  Result<std::string> read(std::string_view path) const override {
    const auto found = content.find(path);
    if (found == content.end())
      return Error{Errc::not_found, "no file exists at " + std::string{path}};
    return found->second;
  }

  Result<bool> exists(std::string_view path) const override { return content.contains(path); }

  Result<std::vector<std::string>> glob(std::string_view, std::string_view) const override {
    std::vector<std::string> out;
    for (const auto& entry : content)
      out.push_back(entry.first);
    return out;
  }

  Result<std::string> absolute(std::string_view path) const override {
    return "/here/" + std::string{path};
  }

  Result<std::string> expand_home(std::string_view path) const override {
    return "/home" + std::string{path.substr(1)};
  }
};

}  // namespace

TEST_CASE("functions: file functions go through the hooks") {
  Files files;
  files.content = {{"a.txt", "text"}, {"b.bin", "\xFF\xFE"}};
  Scope scope;
  const FunctionTable table
      = job_functions({&files, [](std::array<std::uint8_t, 16>& bytes) { bytes.fill(1); }});
  scope.context.functions = &table;
  const auto value = [&](const char* call) { return show_evaluated(call, &scope.context); };

  CHECK(value(R"(file("a.txt"))") == "= \"text\"\n");
  CHECK(value(R"(filebase64("b.bin"))") == "= \"//4=\"\n");
  CHECK(value(R"(fileexists("zz"))") == "= false\n");
  CHECK(value(R"(fileset(".", "*"))") == "= set(string)[\"a.txt\", \"b.bin\"]\n");
  CHECK(value(R"(abspath("x"))") == "= \"/here/x\"\n");
  CHECK(value(R"(pathexpand("~/x"))") == "= \"/home/x\"\n");
  CHECK(
      value(
          R"([basename("a/b/"), basename(""), basename("/"), dirname("a/./b/../c"), dirname("x"), dirname("/x")])")
      == "= [\"b\", \".\", \"/\", \"a\", \".\", \"/\"]\n");
  CHECK(value(R"(file("zz"))").find("Call to function \"file\" failed: no file exists at zz.")
        != std::string::npos);
  CHECK(value(R"(file("b.bin"))")
        == "= unknown(any)\n! f.hcl:1,1-6: Error in function call; Call to function \"file\" "
           "failed: contents of b.bin are not valid UTF-8; use the filebase64 function to obtain the "
           "Base64 encoded contents or the other file functions (e.g. filemd5, filesha256) to obtain "
           "file hashing results instead.\n");
}

TEST_CASE("functions: JSON and YAML are read up to a depth and a size") {
  Scope scope;
  const std::string deep(2'000, '[');
  std::string wide = "[";
  for (int i = 0; i < 1'100'000; ++i)
    wide += "1,";
  scope.variables.emplace_back("deep", Value::string(deep));
  scope.variables.emplace_back("wide", Value::string(wide + "1]"));
  const auto mistake = [&](const char* call) {
    const auto shown = show_evaluated(call, &scope.context);
    return shown.substr(shown.find(" failed: ") + 9);
  };

  CHECK(mistake("jsondecode(deep)") == "JSON values may be nested at most 250 levels deep.\n");
  CHECK(mistake("yamldecode(deep)") == "YAML values may be nested at most 250 levels deep.\n");
  CHECK(mistake("yamldecode(wide)") == "the YAML document has more nodes than are allowed.\n");
  CHECK(mistake("replace(wide, \"1\", wide)") == "the result is larger than is allowed.\n");
}

TEST_CASE("functions: random ones draw from the hook") {
  const Scope scope;

  CHECK(show_evaluated("uuidv4()", &scope.context)
        == "= \"07070707-0707-4707-8707-070707070707\"\n");
  CHECK(show_evaluated("substr(bcrypt(\"secret\", 4), 0, 29)", &scope.context)
        == "= \"$2a$04$/uaF/uaF/uaF/uaF/uaF/u\"\n");
}

TEST_CASE("functions: bcrypt agrees with a known answer") {
  Scope scope;
  const FunctionTable table
      = job_functions({nullptr, [](std::array<std::uint8_t, 16>& bytes) {
                         bytes = {0x14, 0x4b, 0x3d, 0x69, 0x1a, 0x7b, 0x4e, 0xcf,
                                  0x39, 0xcf, 0x73, 0x5c, 0x7f, 0xa7, 0xa7, 0x9c};
                       }});
  scope.context.functions = &table;
  // A published test vector of bcrypt: the salt DCq7YPn5Rq63x1Lad4cll.
  CHECK(show_evaluated("bcrypt(\"\", 6)", &scope.context)
        == "= \"$2a$06$DCq7YPn5Rq63x1Lad4cll.TV4S6ytwfsfvkgY8jIucDrjc8deX1s.\"\n");
}

TEST_CASE("functions: rsadecrypt opens what was sealed for the key") {
  Scope scope;
  scope.variables.emplace_back("key", Value::string(load_data("rsa_key.pem")));
  const std::string sealed
      = "CrcznITxS6kH9+rtyCRV+CTYTc6epsC3IN5ePS5G+A9wDXuwcSeS+H6RW0x7+Tf5E2mhAPCma160xt9eZ/Dulq"
        "1rHMlhrGcP4C7uaUhtXsf6EJddD27cn3G1EdKWqsTNT8IyrWnzyhS/+z3UZx0XD4IAHDHVHskWTGmPkQ2eGe8=";
  CHECK(show_evaluated("rsadecrypt(\"" + sealed + "\", key)", &scope.context)
        == "= \"open sesame\"\n");
  const std::string broken = show_evaluated("rsadecrypt(\"AAAA\", key)", &scope.context);
  CHECK(broken.find("crypto/rsa: decryption error.") != std::string::npos);
}

TEST_CASE("functions: exactly those of the job language exist") {
  const FunctionTable table = job_functions({nullptr, [](std::array<std::uint8_t, 16>&) {}});

  CHECK(table.all().size() == 83);
  CHECK(table.find("upper") != nullptr);
  for (const char* name :
       {"toset", "tolist", "tostring", "templatefile", "timestamp", "regex", "env", "one"})
    CHECK(table.find(name) == nullptr);
}

}  // namespace nomad::hcl
