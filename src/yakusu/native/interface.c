/* Numbers that library.py compares with its own, to refuse a library compiled from other sources. Those
   after the first are in engine/library.py. */

#include "pack.h"
#include "session.h"

enum { VERSION = 8 }; /* as in library.py */

API int yk_interface(int i) {
    static const int numbers[] = {
        VERSION, LANES, MAX_MEMBERS, PROPOSALS, sizeof(Config), sizeof(Settings), sizeof(Finished), sizeof(Search),
        sizeof(Traced), sizeof(Spelling), sizeof(Requirements), sizeof(Record), sizeof(Guide), sizeof(Codebook), sizeof(States),
        sizeof(Sampling), sizeof(Array),
    };
    return i < (int)(sizeof numbers / sizeof *numbers) ? numbers[i] : -1;
}
