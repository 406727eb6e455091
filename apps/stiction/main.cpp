// stiction: the command line. Each subcommand is a file of its own.
#include <CLI/CLI.hpp>
#include <cstdio>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "commands.hpp"
#include "io/output_folder.hpp"
#include "provenance.hpp"
#include "stiction/scene_file.hpp"

namespace {

int run_program(int argc, char** argv) {
  using namespace stiction;
  CLI::App app{"Simulates hair, cloth and soft bodies in frictional contact."};
  app.require_subcommand(1);
  app.set_version_flag("--version", stiction::version());
  int exit_code = kDone;
  add_run(app, exit_code);
  add_check(app, exit_code);
  add_list(app, exit_code);
  add_render(app, exit_code);
  add_bench(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? kDone : kBadInput;
  } catch (const SceneError& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return kBadInput;
  } catch (const IoError& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return kBadInput;
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 1 << 22);  // larger arrays go back to the system when they are freed; it would learn not to
#endif
  try {
    return run_program(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
  } catch (...) {
    std::fputs("unknown error\n", stderr);
  }
  return stiction::kFailed;
}
