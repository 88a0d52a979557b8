"""Names that are reserved in C and C++ and that functions of an exported file cannot have."""

import re
from collections.abc import Iterable

# Keywords of C23 and C++26, and names that compilers define or call in every program.
KEYWORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char class co_await co_return
co_yield compl concept const const_cast consteval constexpr constinit continue contract_assert
countof decltype default delete do double dynamic_cast else enum explicit export extern false float
for friend goto if import inline int linux long main module mutable namespace new noexcept not
not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires
restrict return short signed sizeof static static_assert static_cast std struct switch synchronized
template this thread_local throw true try typedef typeid typename typeof typeof_unqual union unix
unreachable unsigned using virtual void volatile while xor xor_eq
"""
# Functions of math.h and complex.h in C23, Unix and gcc, which exist for each floating-point type.
MATHEMATICS = """
acos acosh acospi asin asinh asinpi atan atan2 atan2pi atanh atanpi cabs cacos cacosh canonicalize
carg casin casinh catan catanh cbrt ccos ccosh ceil cexp cimag clog clog10 compoundn conj copysign
cos cosh cospi cpow cproj creal csin csinh csqrt ctan ctanh daddl ddivl dfmal dmull drem dsqrtl
dsubl erf erfc exp exp10 exp10m1 exp2 exp2m1 expm1 fabs fadd fdim fdiv ffma finite floor fma fmax
fmaximum fmaximum_mag fmaximum_mag_num fmaximum_num fmaxmag fmin fminimum fminimum_mag
fminimum_mag_num fminimum_num fminmag fmod fmul fpclassify frexp fromfp fromfpx fsqrt fsub gamma
getpayload hypot ilogb iscanonical iseqsig isfinite isgreater isgreaterequal isinf isless
islessequal islessgreater isnan isnormal issignaling issubnormal isunordered iszero j0 j1 jn ldexp
lgamma lgamma_r llogb llrint llround log log10 log10p1 log1p log2 log2p1 logb logp1 lrint lround
math_errhandling modf nan nearbyint nextafter nextdown nexttoward nextup pow pow10 pown powr
remainder remquo rint rootn round roundeven rsqrt scalb scalbln scalbn setpayload setpayloadsig
signbit significand sin sincos sinh sinpi sqrt tan tanh tanpi tgamma totalorder totalordermag trunc
ufromfp ufromfpx y0 y1 yn
"""
# Names in the other headers of C23, and further functions that are built into gcc.
LIBRARY = """
I complex imaginary noreturn offsetof
abort abs aligned_alloc alloca asctime assert at_quick_exit atexit atof atoi atol atoll bcmp bcopy
bsearch btowc bzero c16rtomb c32rtomb call_once calloc clearerr clock ctime dcgettext dgettext
difftime div errno execl execle execlp execv execve execvp exit fclose feclearexcept fegetenv
fegetexceptflag fegetround feholdexcept feof feraiseexcept ferror fesetenv fesetexceptflag
fesetround fetestexcept feupdateenv fflush ffs ffsimax ffsl ffsll fgetc fgetpos fgets fgetwc fgetws
fopen fork fprintf fprintf_unlocked fputc fputc_unlocked fputs fputs_unlocked fputwc fputws fread
free free_aligned_sized free_sized freopen fscanf fseek fsetpos ftell fwide fwprintf fwrite
fwrite_unlocked fwscanf gamma_r gammaf_r gammal_r getc getchar getenv gettext getwc getwchar gmtime
gmtime_r imaxabs imaxdiv index isalnum isalpha isascii isblank iscntrl isdigit isgraph islower
isprint ispunct isspace isupper iswalnum iswalpha iswblank iswcntrl iswctype iswdigit iswgraph
iswlower iswprint iswpunct iswspace iswupper iswxdigit isxdigit labs ldiv lgammaf_r lgammal_r llabs
lldiv localeconv localtime localtime_r longjmp malloc mblen mbrlen mbrtoc16 mbrtoc32 mbrtowc mbsinit
mbsrtowcs mbstowcs mbtowc memalignment memccpy memchr memcmp memcpy memmove mempcpy memset
memset_explicit mktime perror posix_memalign printf printf_unlocked putc putc_unlocked putchar
putchar_unlocked puts puts_unlocked putwc putwchar qsort quick_exit raise rand realloc remove rename
rewind rindex scanf setbuf setjmp setlocale setvbuf signal signgam snprintf sprintf srand sscanf
stderr stdin stdout stpcpy stpncpy strcasecmp strcat strchr strcmp strcoll strcpy strcspn strdup
strerror strfmon strfromd strfromf strfroml strftime strlen strncasecmp strncat strncmp strncpy
strndup strnlen strpbrk strrchr strspn strstr strtod strtof strtoimax strtok strtol strtold strtoll
strtoul strtoull strtoumax strxfrm swprintf swscanf system time timegm timespec_get timespec_getres
tmpfile tmpnam toascii tolower toupper towctrans towlower towupper uint ulong ungetc ungetwc ushort
vfprintf vfscanf vfwprintf vfwscanf vprintf vscanf vsnprintf vsprintf vsscanf vswprintf vswscanf
vwprintf vwscanf wcrtomb wctob wctomb wctrans wctype wprintf wscanf
"""
# Functions and variables of POSIX.1-2008, with which every program on Unix is linked.
POSIX = """
a64l accept access alarm alphasort asctime_r bind catclose catgets catopen cfgetispeed cfgetospeed
cfsetispeed cfsetospeed chdir chmod chown close closedir closelog confstr connect creat ctermid
ctime_r daylight dirfd dirname dlclose dlerror dlopen dlsym dprintf drand48 dup dup2 dup3 duplocale
endgrent endhostent endnetent endprotoent endpwent endservent endutxent environ erand48 faccessat
fchdir fchmod fchmodat fchown fchownat fcntl fdatasync fdopen fdopendir fexecve fileno flockfile
fmemopen fmtmsg fnmatch fpathconf freeaddrinfo freelocale fseeko fstat fstatat fstatvfs fsync ftello
ftok ftruncate ftrylockfile ftw funlockfile futimens gai_strerror getaddrinfo getc_unlocked
getchar_unlocked getcwd getdate getdate_err getdelim getegid geteuid getgid getgrent getgrgid
getgrgid_r getgrnam getgrnam_r getgroups gethostbyaddr gethostbyname gethostent gethostid
gethostname getitimer getline getlogin getlogin_r getnameinfo getnetbyaddr getnetbyname getnetent
getopt getpeername getpgid getpgrp getpid getppid getpriority getprotobyname getprotobynumber
getprotoent getpwent getpwnam getpwnam_r getpwuid getpwuid_r getrlimit getrusage gets getservbyname
getservbyport getservent getsid getsockname getsockopt getsubopt gettimeofday getuid getutxent
getutxid getutxline glob globfree grantpt hcreate hdestroy hsearch htonl htons iconv iconv_close
iconv_open if_freenameindex if_indextoname if_nameindex if_nametoindex in6addr_any in6addr_loopback
inet_lnaof inet_makeaddr inet_netof inet_network inet_ntoa inet_ntop inet_pton initstate insque
isalnum_l isalpha_l isatty isblank_l iscntrl_l isdigit_l isgraph_l islower_l isprint_l ispunct_l
isspace_l isupper_l iswalnum_l iswalpha_l iswblank_l iswcntrl_l iswctype_l iswdigit_l iswgraph_l
iswlower_l iswprint_l iswpunct_l iswspace_l iswupper_l iswxdigit_l isxdigit_l jrand48 kill killpg
l64a lchown lcong48 lfind link linkat listen lockf lrand48 lsearch lseek lstat mbsnrtowcs mkdir
mkdirat mkdtemp mkfifo mkfifoat mknod mknodat mkstemp mlock mlockall mmap mprotect mrand48 msgctl
msgget msgrcv msgsnd msync munlock munlockall munmap nanosleep newlocale nftw nice nl_langinfo
nl_langinfo_l nrand48 ntohl ntohs open open_memstream open_wmemstream openat opendir openlog optarg
opterr optind optopt pathconf pause pclose pipe pipe2 poll popen pread pselect psiginfo psignal
ptsname putenv pututxline pwrite rand_r random re_syntax_options read readdir readdir_r readlink
readlinkat readv realpath recv recvfrom recvmsg regerror regexec regfree remque renameat rewinddir
rmdir scandir seed48 seekdir select semctl semget semop send sendmsg sendto setegid setenv seteuid
setgid setgrent sethostent setitimer setlogmask setnetent setpgid setpgrp setpriority setprotoent
setpwent setregid setreuid setrlimit setservent setsid setsockopt setstate setuid setutxent shmat
shmctl shmdt shmget shutdown sigaction sigaddset sigaltstack sigdelset sigemptyset sigfillset
sighold sigignore siginterrupt sigismember siglongjmp sigpause sigpending sigprocmask sigqueue
sigrelse sigset sigsuspend sigtimedwait sigwait sigwaitinfo sleep sockatmark socket socketpair
srand48 srandom stat statvfs strcasecmp_l strcoll_l strerror_l strerror_r strfmon_l strftime_l
strncasecmp_l strptime strsignal strtok_r strxfrm_l swab symlink symlinkat sync sysconf syslog
tcdrain tcflow tcflush tcgetattr tcgetpgrp tcgetsid tcsendbreak tcsetattr tcsetpgrp tdelete telldir
tempnam tfind times timezone tolower_l toupper_l towctrans_l towlower_l towupper_l truncate tsearch
ttyname ttyname_r twalk tzname tzset ulimit umask uname unlink unlinkat unlockpt unsetenv uselocale
utime utimensat utimes vdprintf wait waitid waitpid wcpcpy wcpncpy wctrans_l wctype_l wcwidth
wordexp wordfree write writev
"""
TYPES = "f", "l", "f16", "f32", "f32x", "f64", "f64x", "f128", "d32", "d64", "d128"
WORDS = {*KEYWORDS.split(), *LIBRARY.split(), *POSIX.split()}
WORDS |= {word + kind for word in MATHEMATICS.split() for kind in ("", *TYPES)}
# Macros of math.h and stdlib.h, further functions of math.h, and patterns reserved by C and POSIX.
FAMILIES = re.compile(
    r"(EXIT|FP|HUGE_VAL|M|MATH|SNAN)_\w*|HUGE_VAL[FL]?|INFINITY|MAXFLOAT|NAN|SNAN(F|L|F[0-9]+X?)?"
    r"|NULL|EOF|BUFSIZ|[A-Z]+_(MAX|MIN|BIT|WIDTH|EPSILON|DIG|EVAL_METHOD|RADIX|ROUNDS)"
    r"|f(32|64)x?(add|div|fma|mul|sqrt|sub)f(32|64|128)x?|lgammaf[0-9]+x?_r"
    r"|(atomic|ckd|cnd|memory_order|mtx|stdc|thrd|tss|va)_\w*|wcs[a-z]\w*|wmem\w*|\w+_t"
    r"|(strto|strfrom)d(32|64|128)|U?INT[0-9]+_C|U?INTMAX_C|(PRI|SCN)[a-zX]\w*|SIG_?[A-Z]\w*"
    r"|(aio|clock|lio|mq|posix|pthread|sched|sem|shm|timer)_\w*"
)


def check_identifier(name: object) -> None:
    """Raise ValueError unless name is a C identifier that begins with a letter."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII):
        raise ValueError(f"name = {name!r:.60}: must be a name in C that begins with a letter")


def check_name(name: str, tables: Iterable[str], code: str) -> None:
    """Check that no function of the file gets a name that is already used.

    Args:
        name: Name that replaces "surrogate".
        tables: Names of the constants of the file; a macro may have a parameter.
        code: Code of the file, with functions whose names begin with "surrogate".

    Raises:
        ValueError: If the name of a function is reserved or already used in the file.
    """
    functions = re.findall(r"^int surrogate(\w*)\(", code, re.MULTILINE)
    defined = re.findall(r"^(?:#define |static [^\[(;]*\b)(\w+)", code, re.MULTILINE)
    defined += [table.partition("(")[0] for table in tables]
    for function in sorted({name + ending for ending in functions}):
        if function in WORDS or FAMILIES.fullmatch(function):
            raise ValueError(f"name = {name!r:.60}: C, C++ or their libraries have {function!r}")
        if function in defined:
            raise ValueError(f"name = {name!r:.60}: the file itself has another {function!r}")
