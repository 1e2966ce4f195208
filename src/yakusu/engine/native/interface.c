/* The sizes that library.py repeats, so that it can refuse a library of other sources. */

#include "session.h"

API int yk_interface(int i) {
    static const int sizes[] = {
        LANES, MAX_MEMBERS, PROPOSALS, sizeof(Config), sizeof(Settings), sizeof(Finished), sizeof(Search),
        sizeof(Traced), sizeof(Spelling), sizeof(Record), sizeof(Guide),
    };
    return i < (int)(sizeof sizes / sizeof *sizes) ? sizes[i] : -1;
}
